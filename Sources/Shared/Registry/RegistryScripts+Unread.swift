package import Redis

/// The scripts that change the unread counter, and how it is kept by thread.
///
/// Beside the counter `n`, the user's hash may have one counter for each of up to 200 threads, `t<thread>`.
/// `n` is never less than their sum: where a change of `n` alone would make it so, what is too much is taken
/// from the largest threads.
extension RegistryScripts {
    /// The most threads of a recipient that are counted.
    package static let threadsMax = 200

    /// Takes from the largest threads what is more than `n` in all.
    static let trimThreads = """
        local function trim(key,n)
         local all,ts,sum=redis.call('HGETALL',key),{},0
         for i=1,#all,2 do
          if string.byte(all[i])==116 then
           local v=tonumber(all[i+1]) or 0
           sum=sum+v
           ts[#ts+1]={name=all[i],v=v}
          end
         end
         if sum<=n then return end
         table.sort(ts,function(a,b) return a.v>b.v or a.v==b.v and a.name<b.name end)
         local over=sum-n
         for _,t in ipairs(ts) do
          local v=t.v-math.min(over,t.v)
          over=over-t.v+v
          if v>0 then redis.call('HSET',key,t.name,v) else redis.call('HDEL',key,t.name) end
          if over<=0 then return end
         end
        end

        """

    /// Whether one more thread may be counted. A hash has at most eight other fields.
    static let roomForThread = """
        local function room(key)
         if redis.call('HLEN',key)<\(threadsMax) then return true end
         local n=0
         for _,k in ipairs(redis.call('HKEYS',key)) do if string.byte(k)==116 then n=n+1 end end
         return n<\(threadsMax)
        end

        """

    /// Carries a change out: `set`, `add` or `thread`; gives the counter, 1 if it was carried out, and what
    /// that added.
    private static let change =
        trimThreads + roomForThread + """
            local call=redis.call
            local function change(key,what,count,at,thread)
             local u=call('HMGET',key,'n','s')
             local n=tonumber(u[1]) or 0
             local was=n
             if what=='thread' then
              local k='t'..thread
              local t=tonumber(call('HGET',key,k))
              if not t and (count<=0 or not room(key)) then return n,0,0 end
              count=math.min(math.max(0,count),1e9)
              n=n+count-(t or 0)
              if count>0 then call('HSET',key,k,count) else call('HDEL',key,k) end
             elseif what=='add' then n=n+count
             else
              if at>0 and at<(tonumber(u[2]) or 0) then return n,0,0 end
              n=count
              if at>0 then call('HSET',key,'s',string.format('%.0f',at)) end
             end
             n=math.min(math.max(0,n),1e9)
             call('HSET',key,'n',n)
             trim(key,n)
             return n,1,n-was
            end

            """

    /// Sets the unread counter as of the client's time; an older statement than the last one is ignored.
    ///
    /// - Keys: user. Arguments: the count, the client's milliseconds since 1970 (0: no comparison).
    /// - Returns: `{unread, applied}`.
    package static let setUnread = RedisScript(
        name: "set_unread",
        source: change + """
            local n,applied=change(KEYS[1],'set',tonumber(ARGV[1]),tonumber(ARGV[2]))
            return {n,applied}
            """)

    /// Adds to the unread counter, which never becomes negative.
    ///
    /// - Keys: user. Arguments: the delta. Returns: the count.
    package static let addUnread = RedisScript(
        name: "add_unread",
        source: change + "return (change(KEYS[1],'add',tonumber(ARGV[1]),0))")

    /// Tells the counter that a device has read something, and claims the push that tells the others.
    ///
    /// - Keys: user, the claim. Arguments: `set`, `add` or `thread`, the count or the delta, the client's
    ///   milliseconds since 1970 of a `set` (0: no comparison), milliseconds that the claim lives, the
    ///   thread.
    /// - Returns: `{unread, 1 if the caller has to publish the push, what the read added}`.
    package static let read = RedisScript(
        name: "read",
        source: change + """
            local n,_,d=change(KEYS[1],ARGV[1],tonumber(ARGV[2]),tonumber(ARGV[3]),ARGV[5])
            return {n,call('SET',KEYS[2],'1','NX','PX',ARGV[4]) and 1 or 0,d}
            """)
}
