/// The constant part of each template's header block as one connection sends it: compressed once, copied for
/// every request until the table's entries move.
struct HeaderBlocks {
    private struct Block {
        var template: CompiledTemplate
        /// Without a reference count, as it is compared for every request.
        var identity: ObjectIdentifier
        var bytes: [UInt8] = []
        /// The encoder's generation for which the bytes are valid; 0 for none.
        var generation: UInt64 = 0
    }

    private var blocks: [Block?] = []

    /// Makes the template the one at its place, which requests that still wait there use as well.
    @inline(__always)
    mutating func use(_ template: CompiledTemplate) -> Int32 {
        let place = template.place
        let identity = ObjectIdentifier(template)
        if place >= blocks.count || blocks[place]?.identity != identity {
            while place >= blocks.count { blocks.append(nil) }
            blocks[place] = Block(template: template, identity: identity)
        }
        return Int32(truncatingIfNeeded: place)
    }

    /// Bytes that the block takes at most.
    func room(_ place: Int32) -> Int { blocks[Int(place)]?.template.wireMax ?? 0 }

    /// Writes the constant headers.
    mutating func write(_ place: Int32, _ encoder: inout HeaderEncoder, _ cursor: inout BlockCursor) {
        let place = Int(place)
        if let generation = blocks[place]?.generation, generation == encoder.generation {
            unsafe blocks[place]?.bytes.withUnsafeBufferPointer { bytes in
                if let base = bytes.baseAddress { unsafe cursor.raw(base, bytes.count) }
            }
            return
        }
        guard let template = blocks[place]?.template else { return }
        let start = unsafe cursor.at
        let before = encoder.generation
        unsafe template.forEachConstant { name, nameCount, value, valueCount, isSecret in
            unsafe encoder.write(
                name, nameCount, value, valueCount, isSecret ? .secret : .repeats, &cursor)
        }
        // A block that inserted something is good for once only.
        guard encoder.generation == before else { return }
        blocks[place]?.bytes = unsafe Array(UnsafeBufferPointer(start: start, count: cursor.at - start))
        blocks[place]?.generation = before
    }
}
