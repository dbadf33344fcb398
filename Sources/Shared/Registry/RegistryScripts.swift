package import Redis

/// The scripts of the registry. Each names all its keys, and all keys of one call share a hash tag.
package enum RegistryScripts {
    /// Every script, for ``RedisClientOptions/scripts``.
    package static let all =
        [
            admit, setUnread, addUnread, read, settleDedup, claimID, settleID, putDevice, removeDevice,
            takeToken, releaseToken, claimHop, takeTokens, slowQuota, tickTimeSeries,
            correctEnvironment, listTopic, unlistTopic, CredentialStore.changeScript, unlock,
        ] + OverviewCommands.scripts

    /// At most one call a job: claims the dedup key, counts the job once, charges the frequency cap.
    ///
    /// It doesn't read the devices: that costs a script three times what it costs a plain command.
    /// - Keys: user, then the dedup key (flag 2), then the cap (flag 4), then the newest waiting job (flag
    ///   8).
    /// - Arguments: flags (1 count, 2 dedup, 4 cap, 8 a newer job replaces those that wait, 16 count by
    ///   thread, 32 the delta is negative), the position's field, topic and partition, offset, record
    ///   timestamp, unread delta; with flag 2 the job's identity and the claim's milliseconds; with flag 4
    ///   the job's identity, the most notifications and the window's milliseconds; with flag 16 the thread.
    /// - Returns: the counter alone when a job that only counts goes ahead, was not counted before, and its
    ///   recipient has no preferences, which is the common case and has the shortest way through the script;
    ///   else `{verdict}` for 1 this very job is done, 2 its key is done by another job, 3 claimed by
    ///   another; else `{verdict, unread, seen, preferences, wait ms}` for 0 go ahead, 4 capped and 5
    ///   replaced by a newer job.
    ///
    /// A cap is the set of the jobs that it let through within the window, by their time: at most so many in
    /// any window, and a job that asks again finds itself and isn't charged again.
    ///
    /// A position is "partition offset timestamp latest": the last counted record and the latest timestamp
    /// counted in this life of the topic. A record is one that was counted before when it is that very
    /// record, or when it lies before it and isn't younger than anything counted; a smaller offset that is
    /// younger comes from a topic that was made again.
    package static let admit = RedisScript(
        name: "admit",
        source: """
            local call=redis.call
            if ARGV[1]=='1' then
             local u=call('HMGET',KEYS[1],'n',ARGV[2],'prefs')
             local new=true
             if u[2] then
              local p,o,t=string.match(u[2],'^(%S+) (%d+) (%d+)$')
              new=p and (p~=ARGV[3] or tonumber(ARGV[4])>tonumber(o) and tonumber(ARGV[5])>=tonumber(t))
             end
             if new and not u[3] then
              local n=(tonumber(u[1]) or 0)+tonumber(ARGV[6])
              if n>=0 and n<1e9 then
               call('HSET',KEYS[1],'n',string.format('%d',n),ARGV[2],ARGV[3]..' '..ARGV[4]..' '..ARGV[5])
               return n
              end
             end
            end
            local f=tonumber(ARGV[1])
            local k,a=2,7
            if f%4>1 then
             local h=call('GET',KEYS[2])
             if not h then call('SET',KEYS[2],'c'..ARGV[7],'PX',ARGV[8])
             elseif string.sub(h,2)~=ARGV[7] then return {string.byte(h)==100 and 2 or 3}
             elseif string.byte(h)==100 then return {1} end
             k=3 a=9
            end
            local u=call('HMGET',KEYS[1],'n',ARGV[2],'prefs')
            local n=tonumber(u[1]) or 0
            local seen=0
            if f%2==1 then
             local top=ARGV[5]
             if u[2] then
              local p,o,t,x=string.match(u[2],'^(%S+) (%d+) (%-?%d+) ?(%-?%d*)$')
              if p==ARGV[3] then
               if x=='' then x=t end
               local mine,last=tonumber(ARGV[4]),tonumber(o)
               local younger=tonumber(top)>tonumber(x)
               if mine==last and t==top or mine<last and not younger then seen=1
               elseif mine>last and not younger then top=x end
              end
             end
             if seen==0 then
              local d=tonumber(ARGV[6])
              n=math.min(math.max(0,n+d),1e9)
              local p=ARGV[3]..' '..ARGV[4]..' '..ARGV[5]
              if top~=ARGV[5] then p=p..' '..top end
              call('HSET',KEYS[1],'n',n,ARGV[2],p)
              if f>15 then
            \(trimThreads)
            \(roomForThread)
               if f%32>15 then
                local key='t'..ARGV[#ARGV]
                local t=tonumber(call('HGET',KEYS[1],key))
                if t or room(KEYS[1]) then
                 t=math.max(0,(t or 0)+d)
                 if t>0 then call('HSET',KEYS[1],key,t) else call('HDEL',KEYS[1],key) end
                end
               end
               if d<0 or n>=1e9 then trim(KEYS[1],n) end
              end
             end
            end
            f=f%16
            local v,w=0,0
            if f>3 then
             local id,most,per=ARGV[a],tonumber(ARGV[a+1]),tonumber(ARGV[a+2])
             if not call('ZSCORE',KEYS[k],id) then
              local c=call('TIME')
              local now=c[1]*1000+math.floor(c[2]/1000)
              call('ZREMRANGEBYSCORE',KEYS[k],'-inf',now-per)
              local used=call('ZCARD',KEYS[k])
              if f>7 then
               local newest=call('GET',KEYS[k+1])
               if newest and newest~=id then
                local parts='^(.*)%.(%-?%d+)%.(%-?%d+)$'
                local p,o,t=string.match(newest,parts)
                local q,m,s=string.match(id,parts)
                o,t,m,s=tonumber(o),tonumber(t),tonumber(m),tonumber(s)
                if t and s and (s<t or s==t and p==q and m<o) then v=5 end
               end
               if v==0 and (newest or used>=most) then call('SET',KEYS[k+1],id,'PX',per+86400000) end
              end
              if v==0 and used>=most then
               v=4
               w=math.max(1,tonumber(call('ZRANGE',KEYS[k],used-most,used-most,'WITHSCORES')[2])+per-now)
              elseif v==0 then
               call('ZADD',KEYS[k],now,id)
               call('PEXPIRE',KEYS[k],per)
              end
             end
            end
            return {v,n,seen,u[3] or '',w}
            """)

    /// Marks a claimed dedup key as done, or gives it back when the job failed for good.
    ///
    /// - Keys: dedup. Arguments: the job's identity, milliseconds to remember (0: give back). Returns: 1, or
    ///   0 when the key isn't this job's.
    package static let settleDedup = RedisScript(
        name: "settle_dedup",
        source: """
            local h=redis.call('GET',KEYS[1])
            if h and string.sub(h,2)~=ARGV[1] then return 0 end
            if ARGV[2]=='0' then
             if h and string.byte(h)==99 then redis.call('DEL',KEYS[1]) end
            else redis.call('SET',KEYS[1],'d'..ARGV[1],'PX',ARGV[2]) end
            return 1
            """)

    /// Claims a retry hop for a record; the record that claimed it may do so again (it is being redelivered).
    ///
    /// - Keys: hop. Arguments: the record's identity, milliseconds to keep. Returns: 1 ours, 0 another
    ///   record's.
    package static let claimHop = RedisScript(
        name: "claim_hop",
        source: """
            if redis.call('SET',KEYS[1],ARGV[1],'NX','PX',ARGV[2]) then return 1 end
            return redis.call('GET',KEYS[1])==ARGV[1] and 1 or 0
            """)

    /// Appends an entry to an app's stream, unless another pod did within the interval.
    ///
    /// - Keys: stream, totals. Arguments: interval ms, the most entries, then the fields of the totals.
    /// - Returns: 1 appended, 0 not due. Each entry has every field twice: `name` counts since the entry
    ///   before, `name_total` since the beginning.
    package static let tickTimeSeries = RedisScript(
        name: "tick_time_series",
        source: """
            local t=redis.call('TIME')
            local now=t[1]*1000+math.floor(t[2]/1000)
            local before={}
            local last=redis.call('XREVRANGE',KEYS[1],'+','-','COUNT',1)[1]
            if last then
             if now-tonumber(string.match(last[1],'^%d+'))<tonumber(ARGV[1]) then return 0 end
             for i=1,#last[2],2 do before[last[2][i]]=tonumber(last[2][i+1]) end
            end
            local names={unpack(ARGV,3)}
            local totals=redis.call('HMGET',KEYS[2],unpack(names))
            local entry={}
            for i,name in ipairs(names) do
             local total=tonumber(totals[i]) or 0
             local since=last and math.max(0,total-(before[name..'_total'] or 0)) or 0
             entry[#entry+1]=name entry[#entry+1]=since
             entry[#entry+1]=name..'_total' entry[#entry+1]=total
            end
            redis.call('XADD',KEYS[1],'MAXLEN','~',ARGV[2],string.format('%.0f-0',now),unpack(entry))
            return 1
            """)
}
