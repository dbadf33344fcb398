/// A value that holds a secret: printing or reflecting it shows its type and nothing else, so that an
/// interpolation by mistake tells nobody anything.
package protocol Secretive: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Secretive {
    package var description: String { "\(Self.self)(hidden)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
