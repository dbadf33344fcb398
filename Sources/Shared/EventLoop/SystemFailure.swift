internal import Glibc

/// A system call that failed: the error number and what was being attempted.
package struct SystemFailure: Error, Equatable, CustomStringConvertible {
    /// The positive `errno` value.
    package let errno: Int32
    /// What was being attempted, such as "connect to 127.0.0.1:6379".
    package let doing: String

    package init(errno: Int32, doing: String) {
        self.errno = errno
        self.doing = doing
    }

    package var description: String {
        "could not \(doing): \(unsafe String(cString: strerror(errno)))"
    }

    /// Turns a C result that carries `-errno` into a value or an error.
    static func check(_ result: Int32, _ doing: @autoclosure () -> String) throws(SystemFailure) -> Int32 {
        if result < 0 { throw SystemFailure(errno: -result, doing: doing()) }
        return result
    }
}
