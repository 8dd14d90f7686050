"""The tables of docs/evidence/kernel.md, measured on real kernels in guests of the VM lab."""
