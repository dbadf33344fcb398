extension String {
    /// Whether the two are the same bytes in UTF-8.
    ///
    /// `==` also takes different bytes for equal that Unicode calls canonically equivalent, and Redis and
    /// Kafka don't: names must be compared as they do.
    package func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
