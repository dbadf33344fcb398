/// Checks the tokens that users of an app show.
///
/// - Threading: any; a call must not wait for anything.
package protocol UserTokenVerifier: Sendable {
    /// The recipient whom the token is about.
    /// - Throws: why it isn't believed, a 401; the sentence never repeats the token.
    func verify(_ token: String, app: String, nowMs: Int64) throws(Problem) -> String
}
