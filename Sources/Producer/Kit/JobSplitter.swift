import Glibc

/// Finds the jobs in a stream of bytes: one a line (NDJSON), or the elements of one JSON array.
///
/// A value without I/O: it is shown a growing buffer and names ranges in it. Which of the two forms it is,
/// the first character decides.
package struct JobSplitter {
    /// What comes next.
    package enum Step: Equatable {
        /// One job's bytes; its line, or its place in the array, counted from 1.
        case job(Range<Int>, number: Int)
        /// More bytes are needed.
        case more
        /// Everything was found.
        case end
        /// Something that can't be a job. `isFinal` when nothing after it can be found either.
        case fault(number: Int, reason: String, isFinal: Bool)
    }

    /// How the jobs are written.
    enum Form: Equatable { case unknown, lines, array }

    private enum ArrayState { case value, separator, done }

    /// The most bytes that are searched for one job's end.
    static let longestJob = 1 << 20

    private(set) var form = Form.unknown
    /// The line or element number of the last step.
    private(set) var number = 0
    // Where the part begins that isn't given out yet, and how far it was searched.
    private var start = 0
    private var scanned = 0
    private var isDiscarding = false
    private var state = ArrayState.value
    private var depth = 0
    private var isInString = false
    private var isFirst = true

    /// Begins at the front of the bytes.
    package init() {}

    /// The bytes at the front that are no longer needed; the caller drops them before the next call.
    mutating func takeConsumed() -> Int {
        let count = start
        scanned -= start
        start = 0
        return count
    }

    /// The next step in `bytes`; `isLast` when no more will follow.
    package mutating func next(in bytes: UnsafeRawBufferPointer, isLast: Bool) -> Step {
        if form == .unknown {
            guard unsafe detect(bytes, isLast: isLast) else { return isLast ? .end : .more }
        }
        return form == .array ? unsafe nextElement(bytes, isLast) : unsafe nextLine(bytes, isLast)
    }

    private mutating func detect(_ bytes: UnsafeRawBufferPointer, isLast: Bool) -> Bool {
        if isFirst {
            guard bytes.count >= 3 || isLast else { return false }
            isFirst = false
            if unsafe bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF {
                scanned = 3
            }
            start = scanned
        }
        while scanned < bytes.count, unsafe Self.isSpace(bytes[scanned]) { scanned += 1 }
        guard scanned < bytes.count else { return false }
        if unsafe bytes[scanned] == UInt8(ascii: "[") {
            form = .array
            scanned += 1
            start = scanned
        } else {
            // Blank lines before the first job count as lines.
            form = .lines
            scanned = start
        }
        return true
    }

    private mutating func nextLine(_ bytes: UnsafeRawBufferPointer, _ isLast: Bool) -> Step {
        while true {
            guard let base = bytes.baseAddress, start < bytes.count else { return isLast ? .end : .more }
            let found = unsafe memchr(base + scanned, 0x0A, bytes.count - scanned)
            let end: Int
            if let found = unsafe found {
                unsafe end = UnsafeRawPointer(found) - base
            } else if isLast {
                end = bytes.count
            } else {
                scanned = bytes.count
                guard scanned - start > Self.longestJob else { return .more }
                start = scanned
                if isDiscarding { return .more }
                isDiscarding = true
                return tooLong(number + 1)
            }
            let range = unsafe trim(bytes, start..<end)
            start = min(bytes.count, end + 1)
            scanned = start
            number += 1
            if isDiscarding {
                isDiscarding = false
            } else if !range.isEmpty {
                return range.count > Self.longestJob ? tooLong(number) : .job(range, number: number)
            }
        }
    }

    private func tooLong(_ number: Int) -> Step {
        .fault(number: number, reason: "The job is longer than \(Self.longestJob) bytes.", isFinal: false)
    }

    private func trim(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Range<Int> {
        var lower = range.lowerBound
        var upper = range.upperBound
        while lower < upper, unsafe Self.isSpace(bytes[lower]) { lower += 1 }
        while lower < upper, unsafe Self.isSpace(bytes[upper - 1]) { upper -= 1 }
        return lower..<upper
    }

    private enum Between { case goOn, element, step(Step) }

    private mutating func nextElement(_ bytes: UnsafeRawBufferPointer, _ isLast: Bool) -> Step {
        while depth == 0 {
            while scanned < bytes.count, unsafe Self.isSpace(bytes[scanned]) { scanned += 1 }
            start = scanned
            guard scanned < bytes.count else { return ended(isLast) }
            switch unsafe between(bytes[scanned]) {
            case .goOn: scanned += 1
            case .element: return unsafe finishElement(bytes, isLast)
            case .step(let step): return step
            }
        }
        return unsafe finishElement(bytes, isLast)
    }

    // Decides about the first character after an element, a comma or the array's start.
    private mutating func between(_ byte: UInt8) -> Between {
        switch (state, byte) {
        case (.value, UInt8(ascii: "{")): return .element
        case (.separator, UInt8(ascii: ",")):
            state = .value
            return .goOn
        case (.separator, UInt8(ascii: "]")):
            state = .done
            return .goOn
        case (.value, UInt8(ascii: "]")) where number == 0:
            state = .done
            return .goOn
        case (.value, _): return fatal("The array's element isn't an object.", at: number + 1)
        case (.separator, _):
            return fatal("After the job there is neither a comma nor the array's end.", at: number)
        case (.done, _): return fatal("There is something after the array's end.", at: number)
        }
    }

    private func fatal(_ reason: String, at number: Int) -> Between {
        .step(.fault(number: number, reason: reason, isFinal: true))
    }

    private func ended(_ isLast: Bool) -> Step {
        guard isLast else { return .more }
        if state == .done { return .end }
        return .fault(
            number: number, reason: "The array doesn't end; its last bytes are missing.", isFinal: true)
    }

    // Searches the end of the element that begins at `start`.
    private mutating func finishElement(_ bytes: UnsafeRawBufferPointer, _ isLast: Bool) -> Step {
        guard let base = bytes.baseAddress else { return ended(isLast) }
        var at = scanned
        while at < bytes.count {
            if isInString {
                guard let found = unsafe memchr(base + at, 0x22, bytes.count - at) else { break }
                let quote = unsafe UnsafeRawPointer(found) - base
                var slashes = 0
                while quote - 1 - slashes >= start, unsafe bytes[quote - 1 - slashes] == 0x5C { slashes += 1 }
                at = quote + 1
                scanned = at
                if slashes & 1 == 0 { isInString = false }
                continue
            }
            let byte = unsafe bytes[at]
            at += 1
            scanned = at
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth <= 0 {
                    depth = 0
                    let range = start..<at
                    start = at
                    number += 1
                    state = .separator
                    return .job(range, number: number)
                }
            default: break
            }
        }
        if isLast {
            return .fault(
                number: number + 1, reason: "The array doesn't end; its last bytes are missing.",
                isFinal: true)
        }
        if bytes.count - start > Self.longestJob {
            return .fault(
                number: number + 1, reason: "The job is longer than \(Self.longestJob) bytes.", isFinal: true)
        }
        return .more
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}
