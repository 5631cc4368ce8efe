"""What a program exports to: the configuration of a real serving engine."""

from serq.target.vllm import vllm_config

__all__ = ["vllm_config"]
