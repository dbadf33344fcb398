import GatewayKit
import Glibc

@main
struct ProducerMain {
    static func main() { exit(ProducerProgram.main(version: "0.1.0")) }
}
