internal import Core

/// The system that a token belongs to.
package enum DevicePlatform: UInt8, Sendable, CaseIterable {
    case ios
    case android
    case web

    /// The name in jobs and in the HTTP API.
    package var name: StaticString {
        switch self {
        case .ios: "ios"
        case .android: "android"
        case .web: "web"
        }
    }

    /// Finds the platform by its name; nil for any other text.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name.description == name }) else { return nil }
        self = match
    }
}

/// What an APNs token is for; every other provider has alert tokens only.
package enum DeviceTokenKind: UInt8, Sendable, CaseIterable {
    case alert
    case voip
    case liveActivity
    case pushToTalk
    case fileProvider
    case complication
    case location
    case widgets
}

/// What is known about a device, in the form that registration takes it and tools show it.
///
/// In Redis it is a run of bytes, little-endian, as short as it can be and readable in place by scripts:
/// ```
/// 0  32, plus the platform          1  flags, plus 32 times the kind of token
/// 2  registered at, milliseconds since 1970, 6 bytes
/// 8  length of the stored token: 1 byte, or from 128 on its lower 7 bits plus 128, then the rest
/// then the token as ``StoredToken`` stores it
/// then, with flag 16, locale, time zone, app version: 1 byte of length and the text each
/// ```
package struct DeviceRecord: Sendable, Equatable {
    /// The most bytes that a token may have; a web push subscription is the longest.
    package static let maximumTokenBytes = 4096
    static let format: UInt8 = 32
    static let sandboxFlag: UInt8 = 1
    static let silencedFlag: UInt8 = 4
    static let textsFlag: UInt8 = 16

    /// The system.
    package var platform: DevicePlatform
    /// Whether the token belongs to the sandbox environment of APNs.
    package var isSandbox: Bool
    /// What the token is for.
    package var kind: DeviceTokenKind
    /// Whether the device's owner forbade alerts in its settings; badges and background pushes still go out.
    package var isSilenced: Bool
    /// Milliseconds since 1970.
    package var registeredAtMs: Int64
    /// The token as the provider wants it.
    package var token: String
    /// A BCP 47 tag such as `en-GB`, or empty.
    package var locale: String
    /// An IANA name such as `Europe/Berlin`, or empty.
    package var timeZone: String
    /// The app's version, or empty.
    package var appVersion: String

    /// Makes a record.
    package init(
        platform: DevicePlatform, token: String, registeredAtMs: Int64, isSandbox: Bool = false,
        kind: DeviceTokenKind = .alert, isSilenced: Bool = false, locale: String = "", timeZone: String = "",
        appVersion: String = ""
    ) {
        self.platform = platform
        // APNs takes both cases; one of them names the owner.
        self.token = platform == .ios ? token.lowercased() : token
        self.registeredAtMs = registeredAtMs
        self.isSandbox = isSandbox
        self.kind = kind
        self.isSilenced = isSilenced
        self.locale = locale
        self.timeZone = timeZone
        self.appVersion = appVersion
    }

    /// Copies a record out of a reply.
    package init(_ view: DeviceView) {
        var text = ByteBuffer(capacity: 256)
        view.appendToken(to: &text)
        unsafe self.init(
            platform: view.platform, token: text.text, registeredAtMs: view.registeredAtMs,
            isSandbox: view.isSandbox, kind: view.kind, isSilenced: view.isSilenced,
            locale: String(decoding: view.locale, as: UTF8.self),
            timeZone: String(decoding: view.timeZone, as: UTF8.self),
            appVersion: String(decoding: view.appVersion, as: UTF8.self))
    }

    /// The token as it is stored.
    package var storedToken: StoredToken { StoredToken(text: token, platform) }

    /// The form in Redis; nil when the token is empty or too long. Over-long texts are cut to 255 bytes.
    package var encoded: [UInt8]? {
        let stored = storedToken
        let length = stored.bytes.count
        guard length > 0, length <= Self.maximumTokenBytes else { return nil }
        let texts = [locale, timeZone, appVersion]
        let hasTexts = texts.contains { !$0.isEmpty }
        var flags = stored.form.rawValue | kind.rawValue << 5
        if isSandbox { flags |= Self.sandboxFlag }
        if isSilenced { flags |= Self.silencedFlag }
        if hasTexts { flags |= Self.textsFlag }
        var out: [UInt8] = [Self.format | platform.rawValue, flags]
        for shift in 0..<6 { out.append(UInt8(truncatingIfNeeded: registeredAtMs >> Int64(shift * 8))) }
        if length < 128 {
            out.append(UInt8(length))
        } else {
            out += [UInt8(length & 127 | 128), UInt8(length >> 7)]
        }
        out += stored.bytes
        guard hasTexts else { return out }
        for text in texts {
            let bytes = text.utf8.prefix(255)
            out.append(UInt8(bytes.count))
            out += bytes
        }
        return out
    }
}
