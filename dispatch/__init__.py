"""The data path as plain objects: queues, the dispatcher, selection and balancing. No ray, no clock, no I/O."""
