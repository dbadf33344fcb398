/// The values of `apns-push-type`, with the rules that go with each (topic suffix, priorities, payload
/// limit).
package enum APNsPushType: UInt8, CaseIterable, Sendable {
    case none
    case alert, background, voip, complication, fileprovider, location, liveactivity, pushtotalk, widgets
    case controls, mdm

    /// The type whose header value this is, or nil.
    static func named(_ text: Bytes) -> APNsPushType? {
        switch text[0] {
        case UInt8(ascii: "a"): text.equals("alert") ? .alert : nil
        case UInt8(ascii: "b"): text.equals("background") ? .background : nil
        case UInt8(ascii: "v"): text.equals("voip") ? .voip : nil
        case UInt8(ascii: "c"):
            text.equals("complication") ? .complication : text.equals("controls") ? .controls : nil
        case UInt8(ascii: "f"): text.equals("fileprovider") ? .fileprovider : nil
        case UInt8(ascii: "l"):
            text.equals("location") ? .location : text.equals("liveactivity") ? .liveactivity : nil
        case UInt8(ascii: "p"): text.equals("pushtotalk") ? .pushtotalk : nil
        case UInt8(ascii: "w"): text.equals("widgets") ? .widgets : nil
        case UInt8(ascii: "m"): text.equals("mdm") ? .mdm : nil
        default: nil
        }
    }

    /// What the topic adds to the bundle id.
    var topicSuffix: StaticString {
        switch self {
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .location: ".location-query"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        default: ""
        }
    }

    /// The most bytes a payload may have.
    var payloadMax: Int { self == .voip ? 5120 : 4096 }

    /// Whether this priority may go with the type.
    func allows(priority: Int64) -> Bool {
        switch self {
        case .background: priority == 5
        case .liveactivity: priority == 5 || priority == 10
        case .pushtotalk: priority == 10
        default: priority == 1 || priority == 5 || priority == 10
        }
    }
}
