// perf_hooks: what there is of it.
module.exports = { performance, PerformanceObserver: class { observe() {} disconnect() {} }, constants: {} };
