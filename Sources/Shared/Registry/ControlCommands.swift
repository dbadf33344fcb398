internal import Core
package import Redis

/// The commands about `peal:control`, the operator's kill switch.
package enum ControlCommands {
    /// Reads the version alone; the reply is a number, or null when nothing was ever changed.
    package static func version(into out: inout RedisCommandBuffer) {
        out.begin(3)
        out.argument("HGET")
        out.argument(text: RegistryKeys.control)
        out.argument("version")
    }

    /// Writes a field (removes it, with no value) and raises the version; the reply is the new version, or 0
    /// when the field to remove wasn't there. `ended` are fields with their values that are removed as well,
    /// unless they were changed since.
    package static func change(
        field: String, value: String?, ended: [(field: String, value: String)],
        into out: inout RedisCommandBuffer
    ) {
        out.begin(changeScript, keys: 1, arguments: 2 + ended.count * 2)
        out.argument(text: RegistryKeys.control)
        out.argument(text: field)
        out.argument(text: value ?? "")
        for (field, value) in ended {
            out.argument(text: field)
            out.argument(text: value)
        }
    }

    /// Changes one field, clears away what has ended, and raises the version, in one step.
    ///
    /// - Keys: control. Arguments: the field, its value ('' to remove it), then pairs of ended fields and the
    ///   values they are removed with. Returns: the new version; 0 when there was nothing to remove.
    package static let changeScript = RedisScript(
        name: "change_control",
        source: """
            for i=3,#ARGV,2 do
             if redis.call('HGET',KEYS[1],ARGV[i])==ARGV[i+1] then redis.call('HDEL',KEYS[1],ARGV[i]) end
            end
            if ARGV[2]=='' then
             if redis.call('HDEL',KEYS[1],ARGV[1])==0 then return 0 end
            else redis.call('HSET',KEYS[1],ARGV[1],ARGV[2]) end
            return redis.call('HINCRBY',KEYS[1],'version',1)
            """)
}
