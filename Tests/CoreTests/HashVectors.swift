/// Values that must never change: what the first release computed.
enum HashVectors {
    static let empty: UInt64 = 17_102_610_835_673_304_674
    static let a: UInt64 = 9_389_339_317_813_983_857
    static let key: UInt64 = 847_442_579_064_870_295
    static let seeded: UInt64 = 1_871_186_564_563_875_903
    static let derived = "4fe7e887-8019-809b-a4f6-eb3576cdeeca"
}
