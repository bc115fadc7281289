"""The client of endpoints that speak like OpenAI's, in parts. Its door is `cortex.openai_model`: nothing is imported
here, because the part that talks is heavy."""
