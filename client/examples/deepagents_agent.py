"""A deep agent that works in a sandbox: it finds files that were uploaded, writes
a script, runs it, and leaves files that are downloaded afterwards.

    pip install './client/python[deepagents]' langchain-openai
    export OPENAI_API_KEY=… OPENAI_MODEL=…       # and OPENAI_BASE_URL for others
    python3 client/examples/deepagents_agent.py
"""

import os
import sys

from deepagents import create_deep_agent
from langchain_openai import ChatOpenAI
from sandglass.deepagents import SandglassBackend

TASK = "Write a hello world Python script that greets those in names.txt, and run it."


def main() -> None:
    with SandglassBackend.create(profile=os.environ.get("PROFILE", "")) as backend:
        backend.upload_files([("/workspace/names.txt", b"Ada\nGrace\n")])
        agent = create_deep_agent(
            model=ChatOpenAI(model=os.environ["OPENAI_MODEL"]),
            system_prompt="You are a coding assistant. Your files are in /workspace.",
            backend=backend,
        )
        asked = {
            "messages": [{"role": "user", "content": " ".join(sys.argv[1:]) or TASK}]
        }
        answer = agent.invoke(asked)
        print(answer["messages"][-1].content)
        # One response each, in order; what isn't there is no exception.
        for file in backend.download_files(
            ["/workspace/hello.py", "/workspace/output.txt"]
        ):
            print(file.path, file.error or f"{len(file.content)} bytes")


if __name__ == "__main__":
    main()
