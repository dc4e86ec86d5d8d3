"""TO ITS AUTHOR: the conftest.py that was here (written 09:04, never committed; fixtures ``made``, ``analysed``) was
overwritten by mistake at 09:06 UTC by the engineer who writes tests/spark/by_hand. Sorry. It could not be restored from
git; please write it again from your editor. Nothing else here was touched; by_hand has a conftest of its own.
"""
