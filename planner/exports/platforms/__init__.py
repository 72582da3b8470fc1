"""One module for each platform; `planner.exports.registry` has their names."""
