/// The straight line through points that lies closest to them (least squares).
struct LinearFit: Equatable, Sendable {
    /// How much y grows when x grows by one; 0 when the points don't tell.
    let slope: Double
    /// Where the line is at x = 0.
    let intercept: Double

    /// Fits a line. Fewer than two different x give a level line through the mean.
    init(_ points: [(x: Double, y: Double)]) {
        let count = Double(points.count)
        guard count > 0 else {
            slope = 0
            intercept = 0
            return
        }
        let meanX = points.reduce(0) { $0 + $1.x } / count
        let meanY = points.reduce(0) { $0 + $1.y } / count
        // Sums of differences from the mean: sums of squares of large values would lose the small ones.
        let spread = points.reduce(0) { $0 + ($1.x - meanX) * ($1.x - meanX) }
        let common = points.reduce(0) { $0 + ($1.x - meanX) * ($1.y - meanY) }
        slope = spread > 0 ? common / spread : 0
        intercept = meanY - slope * meanX
    }
}
