package import Configuration
internal import Glibc
internal import Terminal
package import Logging
package import Redis

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
        var endpoint: RedisEndpoint
        do throws(RedisFailure) {
            endpoint = try RedisEndpoint(url: redis.url)
        } catch {
            throw ConfigurationFailure([.init(code: .badValue, place: "redis.url", message: error.message)])
        }
        if let user = redis.username { endpoint.user = user }
        if let file = redis.passwordFile { endpoint.password = try SecretFile.readLine(file) }
        var options = RedisClientOptions(endpoint: endpoint)
        options.scripts = scripts
        options.timeoutMs = UInt64(clamping: redis.commandTimeoutMs)
        options.connectTimeoutMs = UInt64(clamping: redis.connectTimeoutMs)
        return options
    }

    /// The process's root logger; `json` asks for JSON lines whatever the configuration says.
    package func makeLogger(_ subsystem: String, json: Bool = false) -> (logger: Logger, sink: LogSink) {
        let wantsJSON = json || log.format == .json || (log.format == .auto && isatty(2) == 0)
        let sink = LogSink(
            descriptor: 2, format: wantsJSON ? .json : .human(colours: Console.style(of: 2).isEnabled))
        let level = LogLevel(name: log.level.rawValue) ?? .info
        return (Logger(subsystem, sink: sink, levels: LogLevels(standard: level)), sink)
    }
}
