import logging

import matplotlib.pyplot as plt
import pandas as pd

logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
ax = pd.Series([1, 3, 2], index=list("abc"), name="s").plot(kind="bar")
print([t.get_text() for t in ax.get_xticklabels()], ax.get_title(), ax.figure.number)
plt.savefig("c.pdf", metadata={"CreationDate": None})
logging.info("done")
