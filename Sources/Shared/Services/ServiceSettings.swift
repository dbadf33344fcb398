package import Configuration
package import Core
internal import Glibc
internal import Terminal
package import Logging
package import Redis
internal import Security

/// What every service takes out of the configuration in the same way.
extension Settings {
    /// The operator's librdkafka properties, with the password out of its file.
    package func kafkaProperties() throws(ConfigurationFailure) -> [(name: String, value: String)] {
        var list = kafka.properties.map { (name: $0.name, value: $0.value) }
        if let file = kafka.passwordFile {
            list.append((name: "sasl.password", value: try SecretFile.readLine(file)))
        }
        return list
    }

    /// How Redis is reached.
    package func redisOptions(scripts: [RedisScript]) throws(ConfigurationFailure) -> RedisClientOptions {
        let endpoints = try redisEndpoints()
        guard let endpoint = endpoints.first else {
            throw ConfigurationFailure([.init(code: .badValue, place: "redis.url", message: "it is empty")])
        }
        var options = RedisClientOptions(endpoint: endpoint)
        if redis.cluster || endpoints.count > 1 { options.clusterSeeds = endpoints }
        if endpoint.isEncrypted {
            do throws(SecurityFailure) {
                options.tls = try TLSContext.client(
                    TLSClientOptions(
                        caFile: redis.caFile, verifiesPeer: redis.verify, applicationProtocols: []))
            } catch {
                throw ConfigurationFailure([
                    .init(code: .badValue, place: "redis.ca_file", message: error.message)
                ])
            }
        }
        options.scripts = scripts
        options.timeoutMs = UInt64(clamping: redis.commandTimeoutMs)
        options.connectTimeoutMs = UInt64(clamping: redis.connectTimeoutMs)
        return options
    }

    /// The server, or the nodes of a cluster that are asked for the others.
    private func redisEndpoints() throws(ConfigurationFailure) -> [RedisEndpoint] {
        var endpoints: [RedisEndpoint]
        do throws(RedisFailure) {
            endpoints = try RedisEndpoint.list(url: redis.url)
        } catch {
            throw ConfigurationFailure([.init(code: .badValue, place: "redis.url", message: error.message)])
        }
        let password: String? =
            if let file = redis.passwordFile { try SecretFile.readLine(file) } else { nil }
        for index in endpoints.indices {
            if let user = redis.username { endpoints[index].user = user }
            if let password { endpoints[index].password = password }
        }
        guard redis.cluster || endpoints.count > 1 else { return endpoints }
        var fault: String?
        for endpoint in endpoints {
            if case .unix = endpoint.address {
                fault = "a Redis Cluster is reached over TCP, not a Unix socket"
            }
            if endpoint.database != 0 { fault = "a Redis Cluster has only database 0; leave the number out" }
        }
        if let fault {
            throw ConfigurationFailure([.init(code: .conflict, place: "redis.url", message: fault)])
        }
        return endpoints
    }

    /// Settings that are read and checked but that this version does not act on yet, if they differ from
    /// their defaults.
    package var notInForce: [String] {
        let standard = Settings()
        var names: [String] = []
        func note(_ name: String, _ differs: Bool) { if differs { names.append(name) } }
        note("worker.assignment", worker.assignment != standard.worker.assignment)
        for app in apps {
            note("apps.\(app.name).web_push", app.webPush != nil)
        }
        return names
    }

    /// The process's root logger; `json` asks for JSON lines and `levels` for other levels, whatever the
    /// configuration says.
    package func makeLogger(
        _ subsystem: String, json: Bool = false, levels: LogLevels? = nil
    ) -> (logger: Logger, sink: LogSink) {
        let wantsJSON = json || log.format == .json || (log.format == .auto && isatty(2) == 0)
        let sink = LogSink(
            descriptor: 2, format: wantsJSON ? .json : .human(colours: Console.style(of: 2).isEnabled))
        return (Logger(subsystem, sink: sink, levels: levels ?? log.logLevels), sink)
    }
}

extension Settings {
    /// Has the process obey `peal control log`; nil when the configuration can't say how Redis is reached,
    /// which it then says.
    package func logOrders(_ logger: Logger) -> LogOrderFollower? {
        do throws(ConfigurationFailure) {
            return LogOrderFollower(try redisOptions(scripts: []), logger: logger)
        } catch {
            logger.warning(
                "log.not_ordered",
                "Redis can't be reached as configured, so 'peal control log' has no effect here: \(error)")
            return nil
        }
    }
}

extension Logger {
    /// Puts the configuration's log levels in force again, on SIGHUP. One that can't be read changes nothing.
    package func reconfigure(_ reread: () -> Result<Settings, ConfigurationFailure>) {
        switch reread() {
        case .success(let settings): configure(settings.log.logLevels)
        case .failure(let failure):
            error("config.refused", "The changed configuration can't be read, so nothing changes: \(failure)")
        }
    }
}
