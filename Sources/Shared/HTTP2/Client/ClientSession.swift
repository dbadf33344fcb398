internal import Core

/// Which implementation of ``ClientSession`` a pool's connections use.
package enum HTTP2SessionKind: String, CaseIterable, Sendable {
    /// Peal's own frames; nghttp2 only decompresses response headers.
    case framed
    /// A whole nghttp2 session: several times the CPU, kept as the oracle that tests hold the other to.
    case nghttp2

    func make(slab: RequestSlab, connection: UInt32) throws(TransportFailure) -> any ClientSession {
        switch self {
        case .framed: try FramedSession(slab: slab, connection: connection)
        case .nghttp2: try HTTP2ClientSession(slab: slab, connection: connection)
        }
    }
}

/// The bounds on what a server may make a connection do or keep, whatever the protocol lets it: passing one
/// ends the connection with ENHANCE_YOUR_CALM (RFC 9113 section 10.5).
package enum SessionLimit: Int, CaseIterable, Sendable {
    /// PING and SETTINGS whose acknowledgements wait.
    case acknowledgements
    /// CONTINUATION frames of one header block.
    case continuations
    /// Frames between two answers that bring nothing forward.
    case idleFrames
    /// Bytes of control frames that wait.
    case controlBytes
    /// Bytes of one header block.
    case headerBytes
    /// Settings in one frame.
    case settings

    /// A metric's label.
    package var label: String {
        switch self {
        case .acknowledgements: "acknowledgements"
        case .continuations: "continuations"
        case .idleFrames: "idle_frames"
        case .controlBytes: "control_bytes"
        case .headerBytes: "header_bytes"
        case .settings: "settings"
        }
    }
}

/// What became of a submission to a session.
enum Submitted: Equatable {
    case ok
    /// A header or the path has a byte that HTTP forbids.
    case malformed
    /// Stream ids are used up or the peer has said GOAWAY: use another connection.
    case refused
}

/// One HTTP/2 client session (RFC 9113): requests and bytes in, bytes and outcomes out. No socket, no TLS.
///
/// - Threading: the loop's.
protocol ClientSession: AnyObject {
    /// What has happened and not yet been handled.
    var notes: UnsafeMutablePointer<ClientNotes> { get }
    /// Whether the session has nothing left to do in either direction, as after a protocol error.
    var isOver: Bool { get }
    /// Which bound the server has passed, if that is what ended the session.
    var limitPassed: SessionLimit? { get }
    /// The server's SETTINGS_MAX_CONCURRENT_STREAMS.
    var streamLimit: UInt32 { get }
    /// Whether stream ids are nearly used up, so that the connection must be replaced.
    var idsAreUsedUp: Bool { get }

    /// Queues a request; ``produce(budget:into:)`` serialises it. The request's bytes are borrowed until its
    /// outcome, the template's until the request is serialised.
    func submit(_ index: Int32, _ template: CompiledTemplate) -> Submitted
    /// Takes plaintext from the server.
    /// - Returns: nil, or what was wrong with it.
    func receive(_ bytes: UnsafeRawBufferPointer) -> String?
    /// Serialises up to about `budget` bytes of waiting frames.
    /// - Returns: true when nothing more waits, false when the budget was used up, nil on a fatal error.
    func produce(budget: Int, into out: inout ByteBuffer) -> Bool?
    /// Gives a stream up; its answer is of no interest any more.
    func cancel(_ streamID: Int32)
    func ping()
    /// Says goodbye before the connection is closed (RFC 9113 section 6.8).
    func goAway()
    /// For tests: makes the next stream id `id`.
    func skip(toStreamID id: Int32)
}
