import SimulatorKit

@main
struct SimulatorMain {
    static func main() {}
}
