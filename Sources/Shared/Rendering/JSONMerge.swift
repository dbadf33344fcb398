import Core
import Jobs

/// JSON merge patch (RFC 7386) over texts that have been checked before.
enum JSONMerge {
    /// Deeper than this a patch replaces instead of merging. Jobs can't nest deeper anyway.
    private static let maximumDepth = 40

    /// Appends `base` with `patch` merged into it: objects member by member, null removes, everything else
    /// replaces.
    static func append(
        _ base: JSONSlice, patchedWith patch: JSONSlice, to out: inout ByteBuffer, depth: Int = 0
    ) {
        guard base.kind == .object, patch.kind == .object, depth < maximumDepth else {
            return unsafe out.append(patch.raw)
        }
        out.append(byte: UInt8(ascii: "{"))
        var members = base.members
        while let member = members.next() {
            let change = find(member.name, in: patch)
            if let change, change.kind == .null { continue }
            out.comma()
            out.quoted(member.name)
            out.append(byte: UInt8(ascii: ":"))
            if let change {
                append(member.value, patchedWith: change, to: &out, depth: depth + 1)
            } else {
                unsafe out.append(member.value.raw)
            }
        }
        var changes = patch.members
        while let change = changes.next() {
            guard change.value.kind != .null, find(change.name, in: base) == nil,
                !isRepeated(change.name, in: changes)
            else { continue }
            out.comma()
            out.quoted(change.name)
            out.append(byte: UInt8(ascii: ":"))
            appendWithoutNulls(change.value, to: &out, depth: depth + 1)
        }
        out.close()
    }

    /// A patch onto nothing: nulls in objects have nothing to remove and are left out.
    private static func appendWithoutNulls(_ value: JSONSlice, to out: inout ByteBuffer, depth: Int) {
        guard value.kind == .object, depth < maximumDepth else { return unsafe out.append(value.raw) }
        out.append(byte: UInt8(ascii: "{"))
        var members = value.members
        while let member = members.next() {
            guard member.value.kind != .null, !isRepeated(member.name, in: members) else { continue }
            out.comma()
            out.quoted(member.name)
            out.append(byte: UInt8(ascii: ":"))
            appendWithoutNulls(member.value, to: &out, depth: depth + 1)
        }
        out.close()
    }

    /// Whether a member of that name is still to come.
    private static func isRepeated(_ name: JSONText, in rest: JSONMembers) -> Bool {
        var rest = rest
        while let member = rest.next() {
            if member.name.equals(name) { return true }
        }
        return false
    }

    /// The last member of that name, as most readers take it.
    private static func find(_ name: JSONText, in object: JSONSlice) -> JSONSlice? {
        var members = object.members
        var found: JSONSlice?
        while let member = members.next() {
            if member.name.equals(name) { found = member.value }
        }
        return found
    }
}
