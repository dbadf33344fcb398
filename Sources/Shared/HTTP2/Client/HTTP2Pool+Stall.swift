extension HTTP2Pool {
    /// Fails, as closed, every request that no connection has taken yet; they were certainly not sent.
    package func dropWaiting() {
        var dropped: [Int32] = []
        while let index = waiting.popFirst(slab) { dropped.append(index) }
        for index in dropped {
            failed(index, TransportFailure(.closed, "the request was taken back before it was sent"))
        }
    }
}
