internal import Core
package import Redis

/// The correction of a device whose token turned out to belong to APNs' other environment.
extension RegistryScripts {
    /// Sets the environment of a device that still has this token from this registration.
    ///
    /// A registration that came meanwhile knows better than an answer to a former one, so both must agree.
    /// - Keys: devices. Arguments: device id, stored token, registered at in milliseconds since 1970, 1 for
    ///   the sandbox or 0.
    /// - Returns: 1 corrected, 0 not there, another token, registered since, or right already.
    package static let correctEnvironment = RedisScript(
        name: "correct_environment",
        source: """
            local v=redis.call('HGET',KEYS[1],ARGV[1])
            if not v then return 0 end
            local lo,hi=string.byte(v,11,12)
            if not hi or string.sub(v,13,12+lo+hi*256)~=ARGV[2] then return 0 end
            local a,b,c,d,e,g=string.byte(v,5,10)
            if a+b*256+c*65536+d*2^24+e*2^32+g*2^40~=tonumber(ARGV[3]) then return 0 end
            local flags=string.byte(v,3)
            local sandbox=tonumber(ARGV[4])
            if flags%2==sandbox then return 0 end
            flags=flags-flags%2+sandbox
            redis.call('HSET',KEYS[1],ARGV[1],string.sub(v,1,2)..string.char(flags)..string.sub(v,4))
            return 1
            """)
}

extension RegistryCommands {
    /// Corrects a device's environment if it still has the token from the registration at `registeredAtMs`.
    ///
    /// The reply is 1 corrected, 0 when there was nothing to correct any more.
    package static func correctEnvironment(
        of recipient: RecipientReference, id: UnsafeRawBufferPointer, storedToken: UnsafeRawBufferPointer,
        registeredAtMs: Int64, isSandbox: Bool, into out: inout RedisCommandBuffer
    ) {
        out.begin(RegistryScripts.correctEnvironment, keys: 1, arguments: 4)
        out.argument { RegistryKeys.devices(recipient, into: &$0) }
        unsafe out.argument(bytes: id)
        unsafe out.argument(bytes: storedToken)
        out.argument(decimal: registeredAtMs)
        out.argument(decimal: isSandbox ? 1 : 0)
    }
}
