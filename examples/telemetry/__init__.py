"""Metrics and traces of an agent, for Prometheus, Grafana and a collector of OpenTelemetry."""
