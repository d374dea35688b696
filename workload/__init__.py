"""When queries come: rates over time, arrival processes, recorded traces. For the load generator and the simulator."""
