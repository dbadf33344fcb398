package import Redis

/// The scripts of dedup by job id and of provider quotas.
extension RegistryScripts {
    /// Claims a job's id among the jobs of a window.
    ///
    /// - Keys: the bucket of the job's slice of time, that of the slice before, that of the slice after.
    /// - Arguments: the field, the claiming record's tag, when the bucket goes (milliseconds since 1970).
    /// - Returns: 0 go ahead (new, or claimed by this very record), 1 done, 2 claimed by another record.
    ///
    /// The slice follows from the record's time, so a redelivered record looks where it looked before; one of
    /// the slices beside it has whatever else was published within the window.
    package static let claimID = RedisScript(
        name: "claim_id",
        source: """
            local call=redis.call
            for i=2,3 do
             local v=call('HGET',KEYS[i],ARGV[1])
             if v then return v=='0' and 1 or 2 end
            end
            local v=call('HGET',KEYS[1],ARGV[1])
            if v=='0' then return 1 end
            if v then return v==ARGV[2] and 0 or 2 end
            call('HSET',KEYS[1],ARGV[1],ARGV[2])
            if call('PTTL',KEYS[1])<0 then call('PEXPIREAT',KEYS[1],ARGV[3]) end
            return 0
            """)

    /// Marks a claimed id as done, or gives it back.
    ///
    /// - Keys: the bucket. Arguments: the field, the record's tag, 1 for done. Returns: 1, or 0 when the id
    ///   isn't claimed by this record.
    package static let settleID = RedisScript(
        name: "settle_id",
        source: """
            if redis.call('HGET',KEYS[1],ARGV[1])~=ARGV[2] then return 0 end
            if ARGV[3]=='1' then redis.call('HSET',KEYS[1],ARGV[1],'0')
            else redis.call('HDEL',KEYS[1],ARGV[1]) end
            return 1
            """)

    /// Leases tokens from a bucket that fills at a rate, fairly among those that ask.
    ///
    /// - Keys: rate. Arguments: tokens in a thousand seconds, the most tokens in the bucket, tokens wanted,
    ///   who asks.
    /// - Returns: `{tokens given, milliseconds until it is worth asking again, who asked lately, tokens in a
    ///   thousand seconds at present}`.
    ///
    /// What is there is shared so that what everybody got lately becomes even (max-min): what others asked
    /// for and didn't get is kept for them for half a second, and asking more often gives nothing more. When
    /// there is less than a token each, the one that has waited longest gets one.
    ///
    /// After ``slowQuota`` nothing is given until `u`; then the rate rises from the part `b` of the whole to
    /// the whole within 60 s, and the bucket's size with it.
    package static let takeTokens = RedisScript(
        name: "take_tokens",
        source: """
            local call=redis.call
            local t=call('TIME')
            local now=t[1]*1000+math.floor(t[2]/1000)
            local rate,most,want=tonumber(ARGV[1])/1000,tonumber(ARGV[2]),tonumber(ARGV[3])
            local b={}
            local all=call('HGETALL',KEYS[1])
            for i=1,#all,2 do b[all[i]]=all[i+1] end
            local till,part=tonumber(b.u) or 0,tonumber(b.b) or 1
            local f=1
            if now<till then f=0
            elseif part<1 then f=math.min(1,part+(1-part)*(now-till)/60000) end
            local pace=rate*math.max(f,0.01)
            local room=math.max(1,most*f)
            local k=tonumber(b.k) or room
            local since=math.max(tonumber(b.t) or now,till)
            k=math.min(room,k+math.max(0,now-since)*pace/1000)
            local me='l:'..ARGV[4]
            local function about(v)
             local at,owed,last,used=string.match(v or '','^(%d+) (%d+) (%d+) ([%d.]+)$')
             at=tonumber(at)
             if not at or now-at>500 then return end
             return tonumber(owed),tonumber(last),tonumber(used)*math.exp((at-now)/1000)
            end
            local _,last,used=about(b[me])
            local owes,uses,stale,active,first,least={},{},{},1,true,math.huge
            for field,v in pairs(b) do
             if string.sub(field,1,2)=='l:' and field~=me then
              local o,l,u=about(v)
              if not o then stale[#stale+1]=field
              else
               active=active+1
               least=math.min(least,u)
               if o>0 then
                owes[#owes+1]=o
                uses[#uses+1]=u
                if l<(last or 0) or l==(last or 0) and field<me then first=false end
               end
              end
             end
            end
            if #stale>0 and #stale<1000 then call('HDEL',KEYS[1],unpack(stale)) end
            used=used or (active>1 and least or 0)
            local given=0
            if now>=till then
             local low,high=used,used+math.min(want,k)
             for i=1,16 do
              if #owes==0 then low=high break end
              local level=(low+high)/2
              local sum=math.min(want,math.max(0,level-used))
              for i=1,#owes do sum=sum+math.min(owes[i],math.max(0,level-uses[i])) end
              if sum<=k then low=level else high=level end
             end
             given=math.floor(math.min(want,k,math.max(0,low-used))+0.01)
             if given<1 and want>0 and k>=1 and first then given=1 end
             given=math.min(given,math.floor(k))
             k=k-given
            end
            call('HSET',KEYS[1],'k',string.format('%.3f',k),'t',string.format('%.0f',now),
             me,string.format('%.0f %.0f %.0f %.3f',now,want-given,given>0 and now or last or 0,used+given))
            call('PEXPIRE',KEYS[1],math.max(0,till-now)+120000)
            local wait=0
            if now<till then wait=till-now
            elseif given<want then wait=math.ceil(math.max(1,1-k)*1000/pace) end
            return {given,wait,active,math.floor(pace*1000)}
            """)

    /// Slows a bucket after the provider has said that its quota is used up.
    ///
    /// - Keys: rate. Arguments: milliseconds that the provider asked to wait, 0 for none.
    /// - Returns: 1 slowed, 0 it was just before.
    ///
    /// With a wait the rate begins at nothing after it; without one it falls to half of what it is, at most
    /// once a second.
    package static let slowQuota = RedisScript(
        name: "slow_quota",
        source: """
            local call=redis.call
            local t=call('TIME')
            local now=t[1]*1000+math.floor(t[2]/1000)
            local b=call('HMGET',KEYS[1],'u','b')
            local till,part=tonumber(b[1]) or 0,tonumber(b[2]) or 1
            local wait=tonumber(ARGV[1])
            if wait>0 then
             till=math.max(till,now+wait)
             part=0
            else
             if now<till+1000 then return 0 end
             if part<1 then part=math.min(1,part+(1-part)*(now-till)/60000) end
             till=now
             part=math.max(0.05,part/2)
            end
            call('HSET',KEYS[1],'u',string.format('%.0f',till),'b',string.format('%.3f',part),
             'k','0','t',string.format('%.0f',now))
            call('PEXPIRE',KEYS[1],math.max(0,till-now)+120000)
            return 1
            """)
}
