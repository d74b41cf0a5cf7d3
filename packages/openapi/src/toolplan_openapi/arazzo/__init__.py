"""Arazzo: workflows of calls to OpenAPI services, as a dialect."""
