"""The tables of docs/kernel.md, measured on real kernels in guests of the VM lab."""
