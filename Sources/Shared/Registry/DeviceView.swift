package import Core

/// A device's record read in place; see ``DeviceRecord`` for the layout.
///
/// - Valid: as long as the bytes that it was made from.
@safe
package struct DeviceView {
    private let record: UnsafeRawBufferPointer
    private let tokenAt: Int
    private let tokenLength: Int
    /// The system.
    package let platform: DevicePlatform
    /// What the token is for.
    package let kind: DeviceTokenKind
    /// How the token is stored.
    package let tokenForm: StoredToken.Form
    /// The bytes of the record; what follows them is another device's.
    let length: Int

    /// Checks the record at the beginning of the bytes; nil when it isn't one that this version can read.
    package init?(_ record: UnsafeRawBufferPointer) {
        guard record.count > 9,
            let platform = unsafe DevicePlatform(rawValue: record[0] ^ DeviceRecord.format),
            let kind = unsafe DeviceTokenKind(rawValue: record[1] >> 5),
            let form = unsafe StoredToken.Form(rawValue: record[1] & 0b1010)
        else { return nil }
        var length = unsafe Int(record[8])
        var at = 9
        if length >= 128 {
            length = unsafe length & 127 | Int(record[9]) << 7
            at = 10
        }
        guard length > 0, length <= DeviceRecord.maximumTokenBytes, record.count >= at + length else {
            return nil
        }
        var end = at + length
        if unsafe record[1] & DeviceRecord.textsFlag != 0 {
            for _ in 0..<3 {
                guard end < record.count else { return nil }
                unsafe end += 1 + Int(record[end])
            }
            guard end <= record.count else { return nil }
        }
        unsafe self.record = unsafe record
        self.platform = platform
        self.kind = kind
        tokenForm = form
        tokenAt = at
        tokenLength = length
        self.length = end
    }

    /// Whether the token belongs to the sandbox environment of APNs.
    package var isSandbox: Bool { unsafe record[1] & DeviceRecord.sandboxFlag != 0 }

    /// Whether the device's owner forbade alerts in its settings.
    package var isSilenced: Bool { unsafe record[1] & DeviceRecord.silencedFlag != 0 }

    /// Milliseconds since 1970.
    package var registeredAtMs: Int64 {
        var value: Int64 = 0
        for index in 0..<6 { unsafe value |= Int64(record[2 + index]) << Int64(index * 8) }
        return value
    }

    /// The token as it is stored.
    package var storedToken: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: record[tokenAt..<tokenAt + tokenLength])
    }

    /// Appends the token as the provider wants it.
    package func appendToken(to out: inout ByteBuffer) {
        unsafe StoredToken.append(storedToken, tokenForm, to: &out)
    }

    /// A BCP 47 tag, or empty.
    package var locale: UnsafeRawBufferPointer { unsafe text(0) }

    /// An IANA time zone name, or empty.
    package var timeZone: UnsafeRawBufferPointer { unsafe text(1) }

    /// The app's version, or empty.
    package var appVersion: UnsafeRawBufferPointer { unsafe text(2) }

    private func text(_ number: Int) -> UnsafeRawBufferPointer {
        var at = tokenAt + tokenLength
        guard at < length else { return unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
        for _ in 0..<number { unsafe at += 1 + Int(record[at]) }
        return unsafe UnsafeRawBufferPointer(rebasing: record[at + 1..<at + 1 + Int(record[at])])
    }
}

/// A device in a ``DeviceList``.
@safe
package struct ListedDevice {
    /// The device's id.
    package let id: UnsafeRawBufferPointer
    /// The record.
    package let device: DeviceView
}

/// A recipient's devices, read in place: for each the length of its id, the id and the record.
///
/// It is walked with ``next()`` once. A record that this version can't read hides those behind it.
/// - Valid: as long as the bytes that it was made from.
@safe
package struct DeviceList {
    private var rest: UnsafeRawBufferPointer

    /// Walks the value of the recipient's field in `peal:dev:...`; an empty value has no devices.
    package init(_ bytes: UnsafeRawBufferPointer) { unsafe rest = unsafe bytes }

    /// The next device; nil behind the last one.
    package mutating func next() -> ListedDevice? {
        guard let first = unsafe rest.first else { return nil }
        let length = Int(first)
        guard unsafe rest.count > 1 + length,
            let device = unsafe DeviceView(UnsafeRawBufferPointer(rebasing: rest[(1 + length)...]))
        else {
            unsafe rest = UnsafeRawBufferPointer(start: nil, count: 0)
            return nil
        }
        let id = unsafe UnsafeRawBufferPointer(rebasing: rest[1..<1 + length])
        unsafe rest = unsafe UnsafeRawBufferPointer(rebasing: rest[(1 + length + device.length)...])
        return unsafe ListedDevice(id: id, device: device)
    }
}
