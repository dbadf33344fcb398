import Configuration
import Testing

@Suite struct BrokerListTests {
    @Test(arguments: [
        "localhost:9092", "kafka-1:9092,kafka-2:9092", "kafka", "10.0.0.1:1, 10.0.0.2:65535", "[::1]:9092",
        "[::1]",
        "SSL://kafka:9093", "kafka:9092,", "PLAINTEXT://[fe80::1]:9092",
    ])
    func whatPeopleWritePasses(text: String) { #expect(BrokerList.fault(text) == nil) }

    @Test(arguments: [
        ("nohost:99999", "nohost:99999"), ("kafka:0", "kafka:0"), ("kafka:", "kafka:"),
        ("kafka:x", "kafka:x"),
        (":9092", ":9092"), ("a:9092,b:70000", "b:70000"), ("SSL://", "SSL://"),
        ("[::1:9092", "[::1:9092"), ("[]:9092", "[]:9092"), ("[::1]x", "[::1]x"),
        ("::1:9092", "::1:9092"), ("kafka:+1", "kafka:+1"),
        ("kafka:99999999999999999999", "kafka:99999999999999999999"),
    ])
    func whatIsNoBrokerIsNamed(text: String, entry: String) {
        let fault = BrokerList.fault(text)
        #expect(fault?.contains(entry) == true && fault?.contains("65535") == true)
    }

    @Test(arguments: ["", ",", " "])
    func noneAtAllIsRefused(text: String) { #expect(BrokerList.fault(text) != nil) }

    @Test func aConfigurationWithSuchAPortIsRefused() {
        let failure = #expect(throws: ConfigurationFailure.self) {
            try Configuration.parse(Array("kafka: {brokers: \"nohost:99999\"}".utf8), file: "peal.yaml")
        }
        let text = failure.map { "\($0)" } ?? ""
        #expect(text.contains("kafka.brokers") && text.contains("nohost:99999"))
    }
}
