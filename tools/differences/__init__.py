"""Random scenarios, each run under a policy and under the kernel's default classes."""
