"""What all rooms stand on: errors, extensions, threads, and what the release is called."""
