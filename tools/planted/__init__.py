"""Causes of slow requests that are known because they are planted: servers, plants, a client, and an oracle."""
