/// Throw-away private keys of forms that this project refuses; nothing was ever protected by them.
enum OddKeys {
    /// A P-256 key under a passphrase.
    static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhFshKzx56HpwICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEELgFqXn2QTvE4MI+hCpRJaYEgZA9
        SZCeyPZMHo1cMyKYJOhmnwTMVwSf9X4u86VQIGqOa7rncmxL5NTSOMK+eV0lohrZ
        DuwGe845N4FEYPW13uBW3K0eFdOrbTQ9Pqv1XWGln9d8dAqKB6bcIj/4hYV9brHi
        u8UW4MYo4aD0JExXBG3oX4dQ5PizXEKRftYfgfWwyBfl9t4iQYya7a1HNP/M67Y=
        -----END ENCRYPTED PRIVATE KEY-----
        """

    /// A key on secp256k1, which has the size of P-256.
    static let otherCurve = """
        -----BEGIN PRIVATE KEY-----
        MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQg4m//0+NFWyVOZAw8Nem5
        1aQ5Vk+vAYvTjVpT1+n4MiOhRANCAAQ9lZ5urMulzJb6QrQBivEZ8bFuRL3P6gX3
        3icy/LhsDHFYo5pKzBB0rsp39E1Uq7+rmaTDakOWpqPitW6bv8Q2
        -----END PRIVATE KEY-----
        """

    /// An RSA key of 1,024 bits.
    static let shortRSA = """
        -----BEGIN PRIVATE KEY-----
        MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBAO3W2apy9r4M7AZD
        6hlgTcKzmMQw/biDkhmoYC6kse3iyJeU0xiHgafkS6VE4/OPZ/AVlq4tSPU6tr5e
        1tfccQN7voG6uzzNHyZW2WTp+P6hi6q5MqTQTZ7oQsrKFvBeq74r/wLNrl4g3cfr
        NBJk7HnC5mKgtWBFi3fJ4Xa5+1SXAgMBAAECgYEA1/pH1RHq4PCpEJNxrTOXyZv/
        uQFoFbtc2/Hbzd9/OC+9ynC6NUcwRT76No1VlyJ91zYzi93Rp+d2dW94F7O15xy7
        Qd/TaXRIsml+gvKDzauqzWmxg6LNCOm8fvZdklZHm/nrOVBrA9Sh9zTj2xBG7uOS
        Z19yytlAn9TuJXAvOmkCQQD37bMIqFGCIDmhHMSr+l+5MrEUR6hurix5I0xvYN/V
        XCayGJI9qYQIFAx8TfFDdhgw9cdzCVCkw4TlL/EKWRDrAkEA9ZUQfxyhgUOOxFCx
        bUdWkfhDK0Pk0fotXDqNQ6O3H9UCKWZF6N3fznmK82D3L3foUJ+XJgGIPWmY+Zlm
        0zoABQJATk4R/MsEq1+4M+2dJGA4uYqMKUaUqRhzzXLbolXrfDzVr+xYzAbtP4vt
        gZkweUkkTNpjuy6W/OMP5z8kF0uYLwJBAKmaehsfXdbVHmssQ2zyILKM326o5AW0
        HtGcSmVVUqo0RNrsnAl3+hIx1KnC5NOunw3XOd7wnfOz0wdGT0I/wzUCQBAG7ye/
        OZypiQaA5dAItdypAu8f0tLZ4ApqwoKNIQZaA5PDLnQfmut0VafSwQtI7CRlgI3S
        Tpu5lENlbzgNaS8=
        -----END PRIVATE KEY-----
        """
}
