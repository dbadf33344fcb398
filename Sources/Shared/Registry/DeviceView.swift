package import Core

/// A device's record read in place; see ``DeviceRecord`` for the layout.
///
/// - Valid: as long as the bytes that it was made from.
@safe
package struct DeviceView {
    @usableFromInline let record: UnsafeRawBufferPointer
    @usableFromInline let tokenLength: Int
    /// The system.
    package let platform: DevicePlatform
    /// What the token is for.
    package let kind: DeviceTokenKind

    /// Checks the record; nil when it isn't one that this version can read.
    @inlinable package init?(_ record: UnsafeRawBufferPointer) {
        guard record.count > 12, unsafe record[0] == 1,
            let platform = unsafe DevicePlatform(rawValue: record[1]),
            let kind = unsafe DeviceTokenKind(rawValue: record[3])
        else { return nil }
        let length = unsafe Int(record[10]) | Int(record[11]) << 8
        guard length > 0, length <= 4096, record.count >= 12 + length else { return nil }
        unsafe self.record = unsafe record
        self.platform = platform
        self.kind = kind
        tokenLength = length
    }

    /// Whether the token belongs to the sandbox environment of APNs.
    @inlinable package var isSandbox: Bool { unsafe record[2] & 1 != 0 }

    /// Whether ``storedToken`` is the raw form of a hexadecimal token.
    @inlinable package var isTokenPacked: Bool { unsafe record[2] & 2 != 0 }

    /// Whether the device's owner forbade alerts in its settings.
    @inlinable package var isSilenced: Bool { unsafe record[2] & 4 != 0 }

    /// Milliseconds since 1970.
    @inlinable package var registeredAtMs: Int64 {
        var value: Int64 = 0
        for index in 0..<6 { unsafe value |= Int64(record[4 + index]) << Int64(index * 8) }
        return value
    }

    /// The token as it is stored.
    @inlinable package var storedToken: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: record[12..<12 + tokenLength])
    }

    /// Appends the token as the provider wants it.
    @inlinable package func appendToken(to out: inout ByteBuffer) {
        let stored = unsafe storedToken
        guard isTokenPacked else {
            unsafe out.append(stored)
            return
        }
        unsafe out.appendWith(minimum: stored.count * 2) { room in
            for index in 0..<stored.count {
                unsafe room[index * 2] = unsafe Hex.digit(stored[index] >> 4)
                unsafe room[index * 2 + 1] = unsafe Hex.digit(stored[index])
            }
            return stored.count * 2
        }
    }

    /// A BCP 47 tag, or empty.
    package var locale: UnsafeRawBufferPointer { unsafe text(0) }

    /// An IANA time zone name, or empty.
    package var timeZone: UnsafeRawBufferPointer { unsafe text(1) }

    /// The app's version, or empty.
    package var appVersion: UnsafeRawBufferPointer { unsafe text(2) }

    private func text(_ number: Int) -> UnsafeRawBufferPointer {
        var at = DeviceRecord.headerBytes + tokenLength
        for index in 0...number {
            guard unsafe at < record.count else { break }
            let end = unsafe at + 1 + Int(record[at])
            guard unsafe end <= record.count else { break }
            if index == number { return unsafe UnsafeRawBufferPointer(rebasing: record[at + 1..<end]) }
            at = end
        }
        return unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    }
}
