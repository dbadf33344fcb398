import ProducerKit

@main
struct ProducerMain {
    static func main() {}
}
