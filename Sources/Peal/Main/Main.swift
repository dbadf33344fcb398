import PealKit

@main
struct PealMain {
    static func main() {}
}
