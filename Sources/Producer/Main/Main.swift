import Glibc
import ProducerKit

@main
struct ProducerMain {
    static func main() { exit(ProducerCommand.main(version: "0.1.0")) }
}
