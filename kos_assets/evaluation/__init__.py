"""Measuring recall: gold sets, calibration of confidence, public retrieval sets through the product's own pipeline."""
