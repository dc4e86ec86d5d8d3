"""What of the incidents' causes can be seen on a running cluster before they strike. Reads only, unless told otherwise."""
