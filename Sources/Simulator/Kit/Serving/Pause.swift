import Glibc

/// Short sleeps of threads that are not a loop.
enum Pause {
    /// Half a millisecond.
    static func briefly() { usleep(500) }
}
