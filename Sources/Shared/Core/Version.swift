/// Which Peal this is.
package enum Version {
    /// The version that commands, metrics and the list of pods show.
    package static let current = "0.1.0"
}
