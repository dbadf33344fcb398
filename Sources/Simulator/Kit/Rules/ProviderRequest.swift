/// One complete request as the rules see it: borrowed bytes, empty where a header is missing.
///
/// - Valid: only during the call that hands it over.
package struct ProviderRequest {
    package var method = Bytes.empty
    package var path = Bytes.empty
    package var authorization = Bytes.empty
    package var apnsID = Bytes.empty
    package var topic = Bytes.empty
    package var pushType = Bytes.empty
    package var priority = Bytes.empty
    package var expiration = Bytes.empty
    package var collapseID = Bytes.empty
    package var contentType = Bytes.empty
    package var body = Bytes.empty
    /// Whether one of the headers above came more than once.
    package var hasDuplicates = false

    package init() {}
}
