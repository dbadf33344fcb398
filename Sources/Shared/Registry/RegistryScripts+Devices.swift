package import Redis

/// The scripts about devices and the owners of their tokens.
extension RegistryScripts {
    /// Takes a recipient's devices apart: for each its id, its stored token, when it was registered, where
    /// its flags stand, and all of its bytes.
    private static let devicesOf = """
        local function devicesof(v)
         local all,at={},1
         while at<=#v do
          local n=string.byte(v,at)
          local f=at+n+2
          local flags,a,b,c,d,e,g,len,more=string.byte(v,f,f+8)
          if not more then break end
          local from=f+8
          if len>127 then len=len-128+more*128 from=f+9 end
          local stop=from+len
          if flags%32>15 then for i=1,3 do stop=stop+1+(string.byte(v,stop) or 0) end end
          all[#all+1]={id=string.sub(v,at+1,at+n),token=string.sub(v,from,from+len-1),
           ms=a+b*256+c*65536+d*2^24+e*2^32+g*2^40,flags=f,all=string.sub(v,at,stop-1)}
          at=stop
         end
         return all
        end

        """

    /// Writes a device's record among those of its recipient. Other devices of the recipient lose the token,
    /// stale ones go, and the one registered longest ago makes room when there are too many. Of the other
    /// recipients in the hash a few are looked at, and go when they have only stale devices.
    ///
    /// - Keys: devices. Arguments: recipient, device id, record, the most devices, milliseconds after which a
    ///   device is stale (0: never).
    /// - Returns: the devices that lost their tokens to nobody, in the form of a recipient's devices.
    package static let putDevice = RedisScript(
        name: "put_device",
        source: devicesOf + """
            local call=redis.call
            local t=call('TIME')
            local old=tonumber(ARGV[5])
            if old>0 then old=t[1]*1000+math.floor(t[2]/1000)-old end
            local entry=string.char(#ARGV[2])..ARGV[2]..ARGV[3]
            local token=devicesof(entry)[1].token
            local kept,lost={},{}
            for _,d in ipairs(devicesof(call('HGET',KEYS[1],ARGV[1]) or '')) do
             if d.token==token then
             elseif d.id==ARGV[2] or d.ms<old then lost[#lost+1]=d.all
             else kept[#kept+1]=d end
            end
            table.sort(kept,function(a,b) return a.ms<b.ms end)
            while #kept>=tonumber(ARGV[4]) do lost[#lost+1]=table.remove(kept,1).all end
            local all={}
            for i,d in ipairs(kept) do all[i]=d.all end
            all[#all+1]=entry
            call('HSET',KEYS[1],ARGV[1],table.concat(all))
            if old>0 then
             local some=call('HRANDFIELD',KEYS[1],2,'WITHVALUES')
             for i=1,#some,2 do
              local lives=some[i]==ARGV[1]
              for _,d in ipairs(devicesof(some[i+1])) do lives=lives or d.ms>=old end
              if not lives then call('HDEL',KEYS[1],some[i]) end
             end
            end
            return table.concat(lost)
            """)

    /// Removes a device if it still has this token and was registered before a moment.
    ///
    /// - Keys: devices. Arguments: recipient, device id ('' for whichever has the token), stored token,
    ///   milliseconds since 1970 (0: whenever).
    /// - Returns: 1 removed, 0 not there or another token, -1 registered since.
    package static let removeDevice = RedisScript(
        name: "remove_device",
        source: devicesOf + """
            local before=tonumber(ARGV[4])
            local left,found={},0
            for _,d in ipairs(devicesof(redis.call('HGET',KEYS[1],ARGV[1]) or '')) do
             if found==0 and d.token==ARGV[3] and (ARGV[2]=='' or d.id==ARGV[2]) then
              if before>0 and d.ms>=before then return -1 end
              found=1
             else left[#left+1]=d.all end
            end
            if found==0 then return 0 end
            if #left==0 then redis.call('HDEL',KEYS[1],ARGV[1])
            else redis.call('HSET',KEYS[1],ARGV[1],table.concat(left)) end
            return 1
            """)

    /// Sets the environment of a device that still has this token from this registration.
    ///
    /// A registration that came meanwhile knows better than an answer to a former one, so both must agree.
    /// - Keys: devices. Arguments: recipient, device id, stored token, registered at in milliseconds since
    ///   1970, 1 for the sandbox or 0.
    /// - Returns: 1 corrected, 0 not there, another token, registered since, or right already.
    package static let correctEnvironment = RedisScript(
        name: "correct_environment",
        source: devicesOf + """
            local v=redis.call('HGET',KEYS[1],ARGV[1]) or ''
            for _,d in ipairs(devicesof(v)) do
             if d.id==ARGV[2] and d.token==ARGV[3] and d.ms==tonumber(ARGV[4]) then
              local flags,sandbox=string.byte(v,d.flags),tonumber(ARGV[5])
              if flags%2==sandbox then return 0 end
              flags=flags-flags%2+sandbox
              v=string.sub(v,1,d.flags-1)..string.char(flags)..string.sub(v,d.flags+1)
              redis.call('HSET',KEYS[1],ARGV[1],v)
              return 1
             end
            end
            return 0
            """)

    /// Makes a recipient the owner of a token. A few of the other owners in the hash are looked at, and go
    /// when they are stale.
    ///
    /// - Keys: owners. Arguments: the token's field, recipient, the minute of the registration, minutes after
    ///   which an owner is stale (0: never).
    /// - Returns: the former owner, or null.
    ///
    /// A value is the minute, since the beginning of 2020 and in three bytes, and the recipient.
    package static let takeToken = RedisScript(
        name: "take_token",
        source: """
            local call=redis.call
            local old=call('HGET',KEYS[1],ARGV[1])
            local m=tonumber(ARGV[3])
            call('HSET',KEYS[1],ARGV[1],
             string.char(m%256,math.floor(m/256)%256,math.floor(m/65536)%256)..ARGV[2])
            if ARGV[4]~='0' then
             local last=math.floor(call('TIME')[1]/60)-26297280-tonumber(ARGV[4])
             local some=call('HRANDFIELD',KEYS[1],2,'WITHVALUES')
             for i=1,#some,2 do
              local a,b,c=string.byte(some[i+1],1,3)
              if some[i]~=ARGV[1] and (not c or a+b*256+c*65536<last) then
               call('HDEL',KEYS[1],some[i])
              end
             end
            end
            return old and string.sub(old,4)
            """)

    /// Removes a token's owner if it is still this one and no registration came since.
    ///
    /// - Keys: owners. Arguments: the token's field, recipient, the latest minute of its registration.
    /// - Returns: 1 removed, 0 another owner, none, or registered since.
    package static let releaseToken = RedisScript(
        name: "release_token",
        source: """
            local v=redis.call('HGET',KEYS[1],ARGV[1])
            if not v or string.sub(v,4)~=ARGV[2] then return 0 end
            local a,b,c=string.byte(v,1,3)
            if a+b*256+c*65536>tonumber(ARGV[3]) then return 0 end
            return redis.call('HDEL',KEYS[1],ARGV[1])
            """)
}
