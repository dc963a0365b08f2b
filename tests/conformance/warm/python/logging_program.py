import logging
import sys

logging.warning("before any configuration")
logging.getLogger("quiet").info("never")
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(funcName)s %(lineno)d %(filename)s %(module)s %(processName)s %(threadName)s: %(message)s"))
logger = logging.getLogger(__name__)
logger.addHandler(handler)
logger.setLevel(logging.DEBUG)
logger.propagate = False


def work():
    logger.info("value %d", 5)
    try:
        1 / 0
    except ZeroDivisionError:
        logger.exception("failed")


work()
record = logger.makeRecord("n", 10, "f", 1, "m", (), None)
print(0 <= record.relativeCreated < 20000, logging.root.handlers)
file = logging.FileHandler("log.txt")
logging.getLogger("file").addHandler(file)
logging.getLogger("file").error("in a file")
print(open("log.txt").read())
