/// A complete answer.
///
/// - Valid: during the sink's call only.
@safe
package struct ResponseView {
    let slab: RequestSlab
    let index: Int

    /// The HTTP status.
    package var status: UInt16 { unsafe slab.slots[index].status }
    /// `apns-id`, or no bytes.
    package var apnsID: UnsafeRawBufferPointer {
        unsafe text(0, slab.slots[index].apnsIDCount)
    }
    /// `apns-unique-id` (sandbox only), or no bytes.
    package var apnsUniqueID: UnsafeRawBufferPointer {
        unsafe text(1, slab.slots[index].apnsUniqueIDCount)
    }
    /// `retry-after` as it came: seconds or an HTTP date; or no bytes.
    package var retryAfter: UnsafeRawBufferPointer {
        unsafe text(2, slab.slots[index].retryAfterCount)
    }
    /// The body, cut at 16 KiB.
    package var body: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(
            start: slab.slots[index].answer, count: slab.slots[index].answerCount)
    }
    /// Whether the body was longer than the bound.
    package var bodyWasCut: Bool { unsafe slab.slots[index].bodyWasCut }

    private func text(_ part: Int, _ count: UInt8) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: slab.text(index, part), count: Int(count))
    }
}

/// Hears the outcome of each request, exactly once, on the pool's loop.
///
/// Both calls may submit further requests; none of them is sent before the calls have returned.
package protocol ResponseSink: AnyObject {
    /// The server answered. The response is valid during the call only.
    func responded(tag: UInt64, response: ResponseView)
    /// No answer will come.
    func failed(tag: UInt64, failure: TransportFailure)
}
